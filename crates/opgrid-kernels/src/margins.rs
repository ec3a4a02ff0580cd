//! Margin losses of several classes: what the scores of other classes lack to being a margin below that of the target, and their gradients.
//!
//! Scores are rows, one for each example and each with one score for each class. Everything is computed in double precision.

/// Scores of which each row has one target.
pub struct MultiMargin<'a> {
    /// The scores, row by row.
    pub scores: &'a [f64],
    /// The number of scores in a row.
    pub classes: usize,
    /// The class of each row.
    pub targets: &'a [usize],
    /// The weight of each class, 1 where there are none.
    pub weights: Option<&'a [f64]>,
    /// How far other scores have to be below that of the target.
    pub margin: f64,
    /// Whether what is lacking counts with its square.
    pub is_squared: bool,
}

impl MultiMargin<'_> {
    /// The loss of each row.
    pub fn losses(&self) -> Vec<f64> {
        let loss = |(row, target): (&[f64], usize)| {
            let lacking = (0..row.len())
                .filter(|class| *class != target)
                .filter_map(|class| self.lacking(row, target, class));
            let sum: f64 = lacking.map(|lack| if self.is_squared { lack * lack } else { lack }).sum();
            sum * self.weight(target) / self.classes as f64
        };
        self.rows().map(loss).collect()
    }

    /// The gradients of all scores; `grad` says that of the loss of a row.
    pub fn gradients(&self, grad: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut all = vec![0.0; self.scores.len()];
        for (at, (row, target)) in self.rows().enumerate() {
            let gradients = &mut all[at * self.classes..][..self.classes];
            let factor = grad(at) * self.weight(target) / self.classes as f64;
            for class in (0..row.len()).filter(|class| *class != target) {
                if let Some(lack) = self.lacking(row, target, class) {
                    let slope = if self.is_squared { 2.0 * lack * factor } else { factor };
                    gradients[class] = slope;
                    gradients[target] -= slope;
                }
            }
        }
        all
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], usize)> {
        self.scores.chunks_exact(self.classes.max(1)).zip(self.targets.iter().copied())
    }

    fn weight(&self, class: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[class])
    }

    fn lacking(&self, row: &[f64], target: usize, class: usize) -> Option<f64> {
        lacking(self.margin, row[target], row[class])
    }
}

/// Scores of which each row has several targets.
pub struct MultiLabelMargin<'a> {
    /// The scores, row by row.
    pub scores: &'a [f64],
    /// The number of scores in a row.
    pub classes: usize,
    /// The targets of each row, as many as there are classes: those from the first negative one on do not count.
    pub targets: &'a [i64],
}

impl MultiLabelMargin<'_> {
    /// Where scores are those of targets: 1 there, 0 elsewhere.
    pub fn is_target(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.scores.len()];
        for (row, targets) in
            all.chunks_exact_mut(self.classes.max(1)).zip(self.rows().map(|(_, targets)| targets))
        {
            targets.for_each(|target| row[target] = 1.0);
        }
        all
    }

    /// The loss of each row, where `is_target` says which classes are none of the others.
    pub fn losses(&self, is_target: &[f64]) -> Vec<f64> {
        let mut losses = vec![0.0; self.scores.len() / self.classes.max(1)];
        self.for_each_lack(is_target, |row, _, _, lack| losses[row] += lack);
        losses.iter_mut().for_each(|loss| *loss /= self.classes as f64);
        losses
    }

    /// The gradients of all scores; `grad` says that of the loss of a row.
    pub fn gradients(&self, is_target: &[f64], grad: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut all = vec![0.0; self.scores.len()];
        self.for_each_lack(is_target, |row, target, class, _| {
            let slope = grad(row) / self.classes as f64;
            all[row * self.classes + target] -= slope;
            all[row * self.classes + class] += slope;
        });
        all
    }

    /// Calls `f` with a row, a target, another class whose score is not far enough below, and what it lacks.
    fn for_each_lack(&self, is_target: &[f64], mut f: impl FnMut(usize, usize, usize, f64)) {
        let marks = is_target.chunks_exact(self.classes.max(1));
        for (at, ((row, targets), marks)) in self.rows().zip(marks).enumerate() {
            for target in targets {
                for (class, _) in marks.iter().enumerate().filter(|(_, mark)| **mark == 0.0) {
                    if let Some(lack) = lacking(1.0, row[target], row[class]) {
                        f(at, target, class, lack);
                    }
                }
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], impl Iterator<Item = usize>)> {
        let classes = self.classes.max(1);
        let targets = self.targets.chunks_exact(classes);
        let named = targets.map(|row| row.iter().map_while(|target| usize::try_from(*target).ok()));
        self.scores.chunks_exact(classes).zip(named)
    }
}

/// What a score lacks to being a margin below that of a target, if it does.
fn lacking(margin: f64, target: f64, score: f64) -> Option<f64> {
    let lack = margin - target + score;
    (lack > 0.0).then_some(lack)
}

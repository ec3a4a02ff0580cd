//! Expressions over sizes, found by the values that they have: symbols times numbers plus a number, a product of symbols, or, where
//! enough sizes were tried, a quotient that is rounded down.

use crate::graph::expression::{Expression, floor_div};

/// How many sets of sizes have to be tried before anything is said about how a quotient is rounded. So many sets differ in all symbols
/// where a quotient is looked for.
pub(crate) const AT_ONCE: usize = 8;
/// The largest divisor of a quotient.
const MOST_PARTS: i64 = 64;
/// How many factors a product of symbols has at most.
const MOST_FACTORS: usize = 3;

/// An expression of the symbols that has these values, one for each set of sizes.
pub(crate) fn find(names: &[&str], sizes: &[&[i64]], values: &[i64]) -> Option<Expression> {
    let symbol = |place: usize| Expression::Symbol(names[place].to_owned());
    let at = |place: usize| sizes.iter().map(|set| set[place]).collect::<Vec<i64>>();
    for place in 0..names.len() {
        if let Some((factor, offset)) = affine(&at(place), values) {
            return Some(plus(times(factor, symbol(place)), offset));
        }
    }
    if let Some((coefficients, offset)) = linear(sizes, values) {
        let terms = coefficients.iter().enumerate().filter(|(_, factor)| **factor != 0);
        let mut terms: Vec<Expression> = terms.map(|(place, factor)| times(*factor, symbol(place))).collect();
        if offset != 0 {
            terms.push(Expression::Integer(offset));
        }
        return Some(Expression::Sum(terms));
    }
    for factors in products(names.len()) {
        let products: Option<Vec<i64>> = sizes
            .iter()
            .map(|set| factors.iter().try_fold(1i64, |all, place| all.checked_mul(set[*place])))
            .collect();
        let Some((factor, 0)) = products.and_then(|products| affine(&products, values)) else { continue };
        let mut all: Vec<Expression> = factors.iter().map(|place| symbol(*place)).collect();
        if factor != 1 {
            all.insert(0, Expression::Integer(factor));
        }
        return Some(Expression::Product(all));
    }
    // From few sizes nothing can be said about how a quotient is rounded.
    if sizes.len() < AT_ONCE {
        return None;
    }
    for place in 0..names.len() {
        if let Some((offset, parts)) = quotient(&at(place), values) {
            let divided = plus(symbol(place), offset);
            return Some(Expression::Function(
                "FloorDiv".to_owned(),
                vec![divided, Expression::Integer(parts)],
            ));
        }
    }
    None
}

/// Products of symbols, those of few factors first.
fn products(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut last: Vec<Vec<usize>> = (0..count).map(|place| vec![place]).collect();
    for _ in 1..MOST_FACTORS {
        let longer = |factors: &Vec<usize>| {
            let from = factors.last().copied().unwrap_or_default();
            (from..count).map(|place| [factors.as_slice(), &[place]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Factor and offset with which each size gives its value.
fn affine(sizes: &[i64], values: &[i64]) -> Option<(i64, i64)> {
    let other = sizes.iter().position(|size| *size != sizes[0])?;
    let (run, rise) = (sizes[other].checked_sub(sizes[0])?, values[other].checked_sub(values[0])?);
    if rise == 0 || rise % run != 0 {
        return None;
    }
    let factor = rise / run;
    let offset = values[0].checked_sub(factor.checked_mul(sizes[0])?)?;
    let fits = |(size, value): (&i64, &i64)| {
        size.checked_mul(factor).and_then(|product| product.checked_add(offset)) == Some(*value)
    };
    sizes.iter().zip(values).all(fits).then_some((factor, offset))
}

/// A factor for each of several symbols, and an offset, with which the sizes give their values. The factors are those of sets in which one symbol
/// differs from the first set; that it is no product is seen from a set in which several differ.
fn linear(sizes: &[&[i64]], values: &[i64]) -> Option<(Vec<i64>, i64)> {
    let (first, first_value) = (*sizes.first()?, *values.first()?);
    let differ =
        |set: &[i64]| (0..first.len()).filter(|place| set[*place] != first[*place]).collect::<Vec<_>>();
    if !sizes.iter().any(|set| differ(set).len() > 1) {
        return None;
    }
    let factor = |place: usize| {
        let (set, value) = sizes.iter().zip(values).find(|(set, _)| differ(set) == [place])?;
        let (run, rise) = (set[place].checked_sub(first[place])?, value.checked_sub(first_value)?);
        (rise % run == 0).then(|| rise / run)
    };
    let factors = (0..first.len()).map(factor).collect::<Option<Vec<_>>>()?;
    if factors.iter().filter(|factor| **factor != 0).count() < 2 {
        return None;
    }
    let sum = |set: &[i64]| {
        let mut terms = factors.iter().zip(set);
        terms.try_fold(0i64, |sum, (factor, size)| sum.checked_add(factor.checked_mul(*size)?))
    };
    let offset = first_value.checked_sub(sum(first)?)?;
    let fits =
        |(set, value): (&&[i64], &i64)| sum(set).and_then(|sum| sum.checked_add(offset)) == Some(*value);
    sizes.iter().zip(values).all(fits).then_some((factors, offset))
}

/// What is added to each size, and into how many parts the sum is divided, to give its value rounded down.
fn quotient(sizes: &[i64], values: &[i64]) -> Option<(i64, i64)> {
    for parts in 2..=MOST_PARTS {
        // The first value leaves as many offsets as there are parts.
        let least = values[0].checked_mul(parts)?.checked_sub(sizes[0])?;
        let fits = |offset: &i64| {
            let both = sizes.iter().zip(values);
            both.clone().all(|(size, value)| floor_div(size + offset, parts) == Some(*value))
        };
        let mut offsets = (least..least + parts).filter(fits);
        if let Some(offset) = offsets.next() {
            // With two answers the sizes that were tried are too few.
            return offsets.next().is_none().then_some((offset, parts));
        }
    }
    None
}

fn times(factor: i64, expression: Expression) -> Expression {
    if factor == 1 { expression } else { Expression::Product(vec![Expression::Integer(factor), expression]) }
}

fn plus(expression: Expression, offset: i64) -> Expression {
    if offset == 0 { expression } else { Expression::Sum(vec![expression, Expression::Integer(offset)]) }
}

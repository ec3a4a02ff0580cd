//! Adds two tensors and prints the sum.

fn main() -> opgrid::Result<()> {
    println!("{}", few_operators::sum()?);
    Ok(())
}

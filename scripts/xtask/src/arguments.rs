use anyhow::{Context, Result, bail};

#[derive(Debug, PartialEq)]
pub struct Arguments {
    pub out: String,
    pub profile: String,
    pub optimise: bool,
    pub cargo: Vec<String>,
}

impl Arguments {
    pub fn parse(given: &[String]) -> Result<Arguments> {
        let (mut out, mut profile, mut optimise) = (None, None, false);
        let mut given = given.iter();
        while let Some(name) = given.next() {
            match name.as_str() {
                "--out" => out = given.next().cloned(),
                "--profile" => profile = given.next().cloned(),
                "--optimise" => optimise = true,
                "--" => break,
                _ => bail!("worker: {name} is not known"),
            }
        }
        Ok(Arguments {
            out: out.context("worker: where to? --out FOLDER")?,
            profile: profile.context("worker: which profile? --profile dev, or release")?,
            optimise,
            cargo: given.cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn parse(line: &str) -> anyhow::Result<Arguments> {
        Arguments::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn what_follows_the_dashes_is_cargos() {
        let read = parse("--profile dev --out build -- --features faults").unwrap();
        assert_eq!((read.out.as_str(), read.profile.as_str(), read.optimise), ("build", "dev", false));
        assert_eq!(read.cargo, ["--features", "faults"]);
    }

    #[test]
    fn an_unknown_option_is_refused() {
        assert!(parse("--out build --profile dev --fast").is_err());
        assert!(parse("--profile dev").is_err());
    }
}

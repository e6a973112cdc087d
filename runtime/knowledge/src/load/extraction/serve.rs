//! The loop inside an extraction process.

use std::io::{self, Read, Write};

use super::{Answer, Extraction, Job, MAX_HEADER};
use crate::document::Format;
use crate::load::MAX_FILE_BYTES;

/// Answers jobs from `input` on `output` until `input` ends. `extract` gets a file and gives its Markdown, or a reason
/// for people, without the path, why there is none.
///
/// # Errors
/// A broken pipe or frame; the process should end then.
pub fn serve(
    mut input: impl Read,
    mut output: impl Write,
    mut extract: impl FnMut(Format, Vec<u8>) -> Result<Extraction, String>,
) -> io::Result<()> {
    while let Some((format, payload)) = read_job(&mut input)? {
        match extract(format, payload) {
            Ok(Extraction { markdown, title, marks, notes }) => {
                let payload_bytes = markdown.len() as u64;
                let header = Answer::Extracted { payload_bytes, title, marks, notes };
                write_frame(&mut output, &header, markdown.as_bytes())?;
            }
            Err(reason) => write_frame(&mut output, &Answer::Refused { reason }, &[])?,
        }
    }
    Ok(())
}

/// The next job, or nothing where the parent closed the pipe.
fn read_job(input: &mut impl Read) -> io::Result<Option<(Format, Vec<u8>)>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(io::Error::other("the job's header is too long"));
    }
    let mut header = vec![0; length as usize];
    input.read_exact(&mut header)?;
    let job: Job = serde_json::from_slice(&header)?;
    if job.payload_bytes > MAX_FILE_BYTES * 4 {
        return Err(io::Error::other("the job's file is too long"));
    }
    let mut payload = vec![0; job.payload_bytes as usize];
    input.read_exact(&mut payload)?;
    Ok(Some((job.format, payload)))
}

fn write_frame(output: &mut impl Write, header: &Answer, payload: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    output.write_all(&(header.len() as u32).to_le_bytes())?;
    output.write_all(&header)?;
    output.write_all(payload)?;
    output.flush()
}

//! PDF, DOCX, XLSX and HTML to Markdown. Heavy and fed with hostile bytes: runs only in child processes.

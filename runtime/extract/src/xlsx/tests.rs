use proptest::prelude::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{extract, number};
use crate::Begins;

const CONTENT_TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>"#;
const ROOT_RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet2.xml"/></Relationships>"#;
const WORKBOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Prices 2024" sheetId="1" r:id="rId1"/><sheet name="Empty" sheetId="2" r:id="rId2"/></sheets></workbook>"#;
/// Cell formats by index: General, date (14), percent (10), two decimals with grouping (4).
const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="10" applyNumberFormat="1"/><xf numFmtId="4" applyNumberFormat="1"/></cellXfs></styleSheet>"#;
const STRINGS: &str = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>Item</t></si><si><t>AX-3000</t></si></sst>"#;

fn workbook(rows: &str) -> Vec<u8> {
    let sheet = |rows: &str| {
        format!(
            r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>"#
        )
    };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [
        ("[Content_Types].xml", CONTENT_TYPES.to_owned()),
        ("_rels/.rels", ROOT_RELATIONS.to_owned()),
        ("xl/workbook.xml", WORKBOOK.to_owned()),
        ("xl/_rels/workbook.xml.rels", RELATIONS.to_owned()),
        ("xl/styles.xml", STYLES.to_owned()),
        ("xl/sharedStrings.xml", STRINGS.to_owned()),
        ("xl/worksheets/sheet1.xml", sheet(rows)),
        ("xl/worksheets/sheet2.xml", sheet("")),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn sheets_become_tables_with_marked_rows() {
    let rows = r#"
      <row r="1"><c r="B1" t="inlineStr"><is><t>Price list</t></is></c></row>
      <row r="3"><c r="B3" t="s"><v>0</v></c><c r="C3" t="inlineStr"><is><t>From</t></is></c><c r="E3" t="inlineStr"><is><t>Price</t></is></c><c r="F3" t="inlineStr"><is><t>Tax</t></is></c></row>
      <row r="4"><c r="B4" t="s"><v>1</v></c><c r="C4" s="1"><v>45413</v></c><c r="E4" s="3"><v>1234.5</v></c><c r="F4" s="2"><v>0.19</v></c></row>
      <row r="7"><c r="B7" t="b"><v>1</v></c><c r="E7"><f>0.1+0.2</f><v>0.30000000000000004</v></c><c r="F7" t="e"><v>#DIV/0!</v></c></row>"#;
    let extracted = extract(&workbook(rows)).unwrap();
    // Serial 45413 is 2024-05-01: 45292 is 2024-01-01, and January to April 2024 have 121 days.
    assert_eq!(
        extracted.markdown,
        "## Prices 2024\n\nPrice list\n\n| Item | From | Price | Tax |\n| --- | --- | --- | --- |\n\
         | AX-3000 | 2024-05-01 | 1,234.50 | 19.00% |\n| TRUE | | 0.3 | #DIV/0! |\n"
    );
    let marks: Vec<_> = extracted
        .marks
        .iter()
        .map(|mark| match &mark.begins {
            Begins::Row { sheet, row } => {
                (sheet.as_str(), *row, extracted.markdown[mark.offset..].lines().next().unwrap())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        marks,
        [
            ("Prices 2024", 1, "Price list"),
            ("Prices 2024", 3, "| Item | From | Price | Tax |"),
            ("Prices 2024", 4, "| AX-3000 | 2024-05-01 | 1,234.50 | 19.00% |"),
            ("Prices 2024", 7, "| TRUE | | 0.3 | #DIV/0! |"),
        ]
    );
}

#[test]
fn a_cell_at_the_end_of_the_sheet_costs_no_memory() {
    let rows = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>"#;
    assert_eq!(extract(&workbook(rows)).unwrap().markdown, "## Prices 2024\n\n| 1 | |\n| --- | --- |\n| | 2 |\n");
}

#[test]
fn numbers_are_shown_as_their_format_says() {
    for (number, format, expected) in [
        (1234.0, "General", "1234"),
        (0.1 + 0.2, "General", "0.3"),
        (1e21, "General", "1000000000000000000000"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (0.5, "0%", "50%"),
        (-3.0, "0.0", "-3.0"),
        (-0.001, "0.0", "0.0"),
        (12.5, "\"EUR\" 0.00", "EUR 12.50"),
        (12.5, "#,##0.00\\ [$€-407]", "12.50 €"),
        (-12.5, "0.00;(0.00)", "(12.50)"),
        (0.25, "# ?/?", "0.25"),
        (7.0, "000", "7"),
    ] {
        assert_eq!(number::show(number, format), expected, "{number} {format}");
    }
    assert_eq!(number::show_duration(1.5), "36:00:00");
    assert_eq!(number::show_time(0.75, (1899, 12, 31, 18, 0, 0, 0)), "18:00");
    assert_eq!(number::show_time(45413.5, (2024, 5, 1, 12, 0, 30, 0)), "2024-05-01 12:00:30");
}

#[test]
fn bad_files_say_why() {
    let whole = workbook("");
    let broken = workbook("<row r=\"1\"><c r=\"A1\"><v>1</row>");
    for (name, bytes, reason) in [
        ("no archive", b"a,b\n1,2".to_vec(), "the file is not a valid XLSX file: "),
        ("cut short", whole[..whole.len() / 2].to_vec(), "the file is not a valid XLSX file: "),
        ("encrypted", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec(), "the XLSX file is encrypted"),
        ("broken sheet", broken, "the file's sheet \"Prices 2024\" is broken: "),
    ] {
        let message = extract(&bytes).unwrap_err().to_string();
        assert!(message.starts_with(reason), "{name}: {message}");
    }
    assert_eq!(extract(&whole).unwrap().markdown, "");
}

proptest! {
    #[test]
    fn any_sheet_extracts_or_fails(rows in "(<row( r=\"[0-9]{1,8}\")?>|</row>|<c( r=\"[A-Z]{1,3}[0-9]{1,3}\")?( s=\"[0-9]\")?( t=\"[sbe]\")?>|</c>|<v>|</v>|[0-9.e-]){0,30}") {
        let _ = extract(&workbook(&rows));
    }

    #[test]
    fn any_damage_extracts_or_fails(at in 0usize..5000, byte in any::<u8>()) {
        let mut file = workbook(r#"<row r="1"><c r="A1"><v>1</v></c></row>"#);
        let at = at % file.len();
        file[at] = byte;
        let _ = extract(&file);
    }
}

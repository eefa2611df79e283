//! HTML from text: everything that comes from outside of this crate goes through [`escape`].

use serde::Serialize;

/// A text as HTML, in an element or in a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            c => html.push(c),
        }
    }
    html
}

/// A value as JSON inside of a `<script>` element, which ends at the first `</` whatever it means.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A table, which a narrow screen may scroll by itself. A heading that begins with `>` is over
/// numbers.
pub fn table(class: &str, caption: &str, head: &[String], rows: &[String]) -> String {
    let over = |cell: &String| match cell.strip_prefix('>') {
        Some(cell) => format!("<th scope=\"col\" class=\"number\">{cell}</th>"),
        None => format!("<th scope=\"col\">{cell}</th>"),
    };
    let head: String = head.iter().map(over).collect();
    let caption = match caption {
        "" => String::new(),
        caption => format!("<caption>{caption}</caption>"),
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"{class}\">{caption}<thead><tr>{head}\
         </tr></thead><tbody>\n{}</tbody></table></div>\n",
        rows.concat()
    )
}

/// A row whose first cell is a heading; the cells are complete.
pub fn row(heading: &str, cells: &[String]) -> String {
    format!("<tr><th scope=\"row\">{heading}</th>{}</tr>\n", cells.concat())
}

/// A cell with a number, and the number itself for whoever reads the page by a program.
pub fn number_cell(shown: &str, name: &str, value: Option<f64>) -> String {
    let value = value.map_or(String::new(), |v| format!(" data-value=\"{v:?}\""));
    format!("<td class=\"number\" data-name=\"{}\"{value}>{}</td>", escape(name), escape(shown))
}

/// A cell with a text.
pub fn cell(text: &str) -> String {
    format!("<td>{}</td>", escape(text))
}

/// A cell with a number that has no name of its own.
pub fn plain_number(text: &str) -> String {
    format!("<td class=\"number\">{}</td>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_text_wherever_it_stands() {
        let name = "</script><img src=x onerror='alert(\"1\")'>&";
        assert!(!escape(name).contains(['<', '>', '"', '\'']));
        assert!(escape(name).ends_with("&amp;"));
        assert!(!json(&name).contains('<'));
        assert_eq!(serde_json::from_str::<String>(&json(&name)).unwrap(), name);
    }
}

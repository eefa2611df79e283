//! What people see: statistics, tables, plots, JSON, CSV and Markdown.

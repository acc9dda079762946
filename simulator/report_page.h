// The page of the report, without its data.
#pragma once

#include <string>
#include <string_view>

namespace adaptdl {

// Stands once in the page, where the JSON goes.
inline constexpr std::string_view kReportData = "{{data}}";

// report.html with its style and its scripts; cmake/embed_report.cmake writes the definition.
std::string ReportPage();

}  // namespace adaptdl

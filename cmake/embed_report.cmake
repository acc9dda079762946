# Writes OUTPUT, a source file with the report's page: SOURCE_DIR/report.html, its style and its scripts put in.
# Run as a script: cmake -DSOURCE_DIR=... -DOUTPUT=... -P embed_report.cmake
file(READ ${SOURCE_DIR}/report.html page)
foreach(part report.css report_draw.js report_tables.js report.js)
  file(READ ${SOURCE_DIR}/${part} text)
  string(FIND "${page}" "{{${part}}}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "report.html has no place for ${part}")
  endif()
  string(REPLACE "{{${part}}}" "${text}" page "${page}")
endforeach()

# What is not ASCII would be cut in two at the end of a piece.
string(REGEX MATCH "[^\t\n -~]" other "${page}")
if(NOT other STREQUAL "")
  message(FATAL_ERROR "the report's page must be ASCII, but has '${other}'")
endif()

# In pieces, because compilers limit the length of a literal.
set(piece_length 8000)
string(LENGTH "${page}" length)
set(pieces "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${page}" ${at} ${piece_length} piece)
  string(APPEND pieces "  page += R\"~page~(${piece})~page~\";\n")
  math(EXPR at "${at} + ${piece_length}")
endwhile()

file(WRITE ${OUTPUT} "// Generated from simulator/report.html and what belongs to it.
#include \"simulator/report_page.h\"

namespace adaptdl {

std::string ReportPage() {
  std::string page;
  page.reserve(${length});
${pieces}  return page;
}

}  // namespace adaptdl
")

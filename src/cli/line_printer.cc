#include "cli/line_printer.h"

#include "describe/utf8.h"

namespace cadre::cli {

void LinePrinter::close(To to) {
  std::string& open = open_[static_cast<std::size_t>(to)];
  if (open.empty()) return;
  open.clear();
  write_(to, "\n");
}

void LinePrinter::print(std::string_view prefix, const logs::Line& line) {
  const To to = line.stream == logs::Stream::out ? To::out : To::err;
  std::string& open = open_[static_cast<std::size_t>(to)];
  const std::string whose = std::string(prefix) + static_cast<char>('0' + static_cast<int>(line.stream));
  std::string text;
  if (open != whose) {
    close(to);
    text += prefix;
    if (line.stream == logs::Stream::note) text += "cadre: ";
  }
  text += line.text;
  if (!line.continues) text += "\n";
  open = line.continues ? whose : "";
  write_(to, text);
}

void LinePrinter::note(std::string_view text) {
  close(To::err);
  write_(To::err, describe::escaped_lines(text) + "\n");
}

}  // namespace cadre::cli

#include "cli/line_printer.h"

#include <gtest/gtest.h>

namespace cadre::cli {
namespace {

using logs::Stream;

struct Printed : testing::Test {
  void line(std::string_view prefix, Stream stream, std::string_view text, bool continues = false) {
    printer.print(prefix, {stream, continues, {}, text});
  }
  std::string out;
  std::string err;
  LinePrinter printer{
      [this](LinePrinter::To to, std::string_view text) { (to == LinePrinter::To::out ? out : err) += text; }};
};

TEST_F(Printed, LinesGoWhereTheyWereWritten) {
  line("", Stream::out, "one");
  line("", Stream::err, "two");
  line("", Stream::note, "three");
  EXPECT_EQ(out, "one\n");
  EXPECT_EQ(err, "two\ncadre: three\n");
}

TEST_F(Printed, LinesWithoutANewlineAreKept) {
  line("", Stream::out, "no newline", true);
  EXPECT_EQ(out, "no newline");
  line("", Stream::out, " yet", false);
  EXPECT_EQ(out, "no newline yet\n");
}

TEST_F(Printed, LinesOfSeveralTasksAreNotMixed) {
  line("[0] ", Stream::out, "half", true);
  line("[0] ", Stream::out, " whole");
  line("[0] ", Stream::out, "open", true);
  line("[1] ", Stream::out, "other");
  line("[0] ", Stream::out, "rest");
  EXPECT_EQ(out, "[0] half whole\n[0] open\n[1] other\n[0] rest\n");
}

TEST_F(Printed, NotesStandOnTheirOwn) {
  line("", Stream::err, "open", true);
  printer.note("said");
  line("", Stream::err, "new");
  EXPECT_EQ(err, "open\nsaid\nnew\n");
}

}  // namespace
}  // namespace cadre::cli

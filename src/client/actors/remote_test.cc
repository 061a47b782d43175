#include <cadre/remote.h>
#include <gtest/gtest.h>

namespace cadre {
namespace {

struct Two {
  int one() { return 1; }
  int other() { return 2; }
};

TEST(Registering, WithoutACommaEndsTheProgramInsteadOfMixingMembersUp) {
  EXPECT_DEATH(detail::Registration<Two>("Two")
                   .named(".method(&Two::one).method(&Two::other)")
                   .method(&Two::one)
                   .method(&Two::other),
               "CADRE_REMOTE\\(Two.*comma");
}

}  // namespace
}  // namespace cadre

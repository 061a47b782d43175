// A program of which agents keep some ready, as a user would write one: waits to be told which task it is, and then
// runs the shell script that this task has brought along.
#include <cadre/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "broken") == 0 && std::getenv("CADRE_WARM") != nullptr) return 3;
  const auto told = cadre::core::wait_until_begun();
  if (!told) return 1;
  setenv("WAITED", told->empty() ? "no" : "yes", 1);
  const char* script = std::getenv("CADRE_SCRIPT");
  execl("/bin/sh", "sh", "-c", script == nullptr ? ":" : script, nullptr);
  std::perror("sh");
  return 1;
}

#include "app/program.h"
#include "app/standard_streams.h"

int main(int argc, char** argv) {
  cadre::app::open_standard_streams();
  return cadre::app::run_program(argc, argv);
}

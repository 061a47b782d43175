/// While it lives, what this process writes by stdio or iostreams to standard output and standard error goes where it
/// went before, and whole lines of it also to the callers of an actor. One at a time, on the main thread.
#pragma once

#include <memory>

#include "client/actors/actor_host.h"

namespace cadre::client {

class OutputTee {
 public:
  explicit OutputTee(ActorHost& host);
  OutputTee(const OutputTee&) = delete;
  OutputTee& operator=(const OutputTee&) = delete;
  ~OutputTee();

 private:
  struct Side;
  std::unique_ptr<Side> out_;
  std::unique_ptr<Side> err_;
};

}  // namespace cadre::client

/// Error responses. Safe on any thread.
#pragma once

#include <string>
#include <vector>

#include "api/problem.h"
#include "base/result.h"
#include "describe/describe.h"
#include "net/http/message.h"

namespace cadre::gateway {

using api::Problem;

int status_of(Errc code);

net::http::Response problem(int status, std::string detail);
net::http::Response problem(const describe::Faults& faults);
net::http::Response problem(Errc code, std::string detail, const std::vector<describe::Fault>& faults);

}  // namespace cadre::gateway

#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

net::http::Response response(Problem problem) {
  problem.title = net::http::reason_of(problem.status);
  net::http::Response response;
  response.status = problem.status;
  response.content_type = "application/problem+json";
  response.body = describe::write_json(problem);
  return response;
}

}  // namespace

int status_of(Errc code) {
  switch (code) {
    case Errc::invalid: return 400;
    case Errc::denied: return 403;
    case Errc::not_found: return 404;
    case Errc::conflict: return 409;
    case Errc::unavailable: return 503;
    case Errc::timed_out: return 504;
    case Errc::corrupt: return 500;
  }
  return 500;
}

net::http::Response problem(int status, std::string detail) { return response({"", status, std::move(detail), {}}); }

net::http::Response problem(Errc code, std::string detail, const std::vector<describe::Fault>& faults) {
  Problem problem{"", status_of(code), std::move(detail), {}};
  for (const describe::Fault& fault : faults) problem.faults.push_back({fault.path, fault.message});
  return response(std::move(problem));
}

net::http::Response problem(const describe::Faults& faults) {
  const std::string count = std::to_string(faults.count());
  return problem(Errc::invalid,
                 faults.count() == 1 ? "the request has 1 fault" : "the request has " + count + " faults",
                 faults.kept());
}

}  // namespace cadre::gateway

// Any path, query and body as requests of the API: faults or a request, never a crash; one that is read can be written
// and read again.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/operation.h"
#include "base/check.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "gateway/arguments.h"
#include "gateway/route_table.h"

namespace {

using namespace cadre;

template <class T>
void try_one(const net::http::Request& request, const gateway::PathNames& names) {
  static const api::Operation operation = api::operation_of<T>();
  const auto read = gateway::arguments(operation, names, request).and_then(describe::read<T>);
  if (!read) {
    CHECK(!read.error().empty());
    return;
  }
  const auto again = describe::read<T>(describe::write(*read));
  CHECK(again.has_value());
  CHECK(describe::write_json(*again) == describe::write_json(*read));
}

}  // namespace

/// The first byte chooses; the first line is the target, the rest the body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  net::http::Request request;
  request.target = "/" + std::string(text.substr(0, text.find('\n')));
  if (const std::size_t end = text.find('\n'); end != std::string_view::npos) request.body = text.substr(end + 1);
  gateway::RouteTable table;
  table.add("POST", "/jobs/{job}", 1);
  table.add("POST", "/{task}", 2);
  const auto found = table.find(net::http::Method::post, request.path());
  const gateway::PathNames names = found.match ? found.match->names : gateway::PathNames{};
  switch (data[0] % 8) {
    case 0: try_one<cluster::requests::Submit>(request, {}); break;
    case 1: try_one<cluster::requests::RunTask>(request, {}); break;
    case 2: try_one<cluster::requests::ListJobs>(request, {}); break;
    case 3: try_one<cluster::requests::SetJob>(request, names); break;
    case 4: try_one<cluster::requests::ReadLogs>(request, names); break;
    case 5: try_one<access::CreateUser>(request, {}); break;
    case 6: try_one<access::Login>(request, {}); break;
    default: try_one<cluster::requests::RunExec>(request, names); break;
  }
  return 0;
}

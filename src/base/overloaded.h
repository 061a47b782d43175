/// Makes one visitor of several lambdas, for std::visit. Safe on any thread.
#pragma once

namespace cadre {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

}  // namespace cadre

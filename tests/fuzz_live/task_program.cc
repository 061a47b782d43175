#include "tests/fuzz_live/task_program.h"

#include <utility>

#include "cluster/supervision.h"
#include "describe/describe.h"
#include "tests/fuzz_live/extremes.h"

namespace cadre::fuzz_live {
namespace {

using describe::Value;
namespace supervision = cluster::supervision;

std::string hexadecimal(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

}  // namespace

std::string task_program(Dice& dice) {
  std::string packets;
  for (int number = 0; packets.size() < 90'000; ++number) {
    Value packet = hostile<supervision::FromTask>(dice);
    if (number % 5 == 0) {
      packet = describe::write(supervision::FromTask(supervision::Beat{}));
      packet.set("calls", extreme(dice));
      packet.set("errors", Value(~std::uint64_t{0} >> dice.below(3)));
    }
    const Bytes bytes = packed(packet, dice);
    if (bytes.size() <= 2'000) packets += "'" + hexadecimal(bytes) + "',";
  }
  const Bytes report = describe::write_msgpack(supervision::FromTask(supervision::Report{1, last_report, false}));
  return "import os, socket, sys, time\n"
         "packets = [bytes.fromhex(one) for one in [" +
         packets +
         "]]\n"
         "packets += [b'\\xff' * 60000, b'\\x91' * 60000, b'\\xdb\\x00\\x00\\xea\\x60' + b'x' * 60000]\n"
         "sent = 0\n"
         "for begin in range(0, len(packets), 20):\n"
         "    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:\n"
         "        peer.settimeout(5)\n"
         "        peer.connect(os.environ['CADRE_SOCKET'])\n"
         "        for packet in packets[begin:begin + 20]:\n"
         "            try:\n"
         "                sent += peer.send(packet) > 0\n"
         "            except OSError:\n"
         "                break\n"
         "if sent <= 50:\n"
         "    sys.exit(9)\n"
         "for attempt in range(60):\n"
         "    try:\n"
         "        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:\n"
         "            peer.settimeout(10)\n"
         "            peer.connect(os.environ['CADRE_SOCKET'])\n"
         "            peer.send(bytes.fromhex('" +
         hexadecimal(report) +
         "'))\n"
         "            if b'accepted\\xc3' in peer.recv(100000):\n"
         "                sys.exit(0)\n"
         "    except OSError:\n"
         "        pass\n"
         "    time.sleep(0.5)\n"  // others still wait for their acknowledgement
         "sys.exit(8)\n";
}

}  // namespace cadre::fuzz_live

import { describe, expect, it } from "vitest";
import { addressOf } from "../../../../src/binding/grpc/embedded/call.js";

describe("addressOf()", () => {
  it.each([
    ["1.2.3.4:5", "1.2.3.4"],
    ["ipv4:1.2.3.4:5", "1.2.3.4"],
    ["ipv6:[::1]:5", "::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["::1:50312", "::1"],
    ["::ffff:10.0.0.7:50312", "10.0.0.7"],
    ["ipv6:[::ffff:10.0.0.7]:1", "10.0.0.7"],
    ["unix:/tmp/socket", ""],
    ["unknown", ""],
  ])("reads %s as %s", (peer, address) => {
    expect(addressOf(peer)).toBe(address);
  });
});

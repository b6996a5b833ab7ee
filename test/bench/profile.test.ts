import { describe, expect, it } from "vitest";
import { groupOf, placeOf, shares } from "../../bench/profile/where.js";

const one = (name: string, url: string, selfMicros = 1) => ({ name, url, line: 7, selfMicros });

describe("groupOf()", () => {
  it.each([
    ["writev", "", "socket writes, in the kernel"],
    ["(garbage collector)", "", "garbage collection"],
    ["emit", "node:events", "node: events"],
    ["respond", "node:internal/http2/core", "node: http2"],
    ["write", "file:///x/node_modules/@grpc/grpc-js/build/src/a.js", "@grpc/grpc-js"],
    ["v7", "file:///x/node_modules/uuid/dist-node/v7.js", "uuid"],
    ["send", "file:///x/dist/src/engine/engine.js", "src/engine"],
    ["handle", "file:///x/dist/bench/servers/bare-http.js", "the handler of the bench"],
  ])("puts %s of %s to %s", (name, url, group) => {
    expect(groupOf(one(name, url))).toBe(group);
  });
});

describe("shares()", () => {
  it("leaves waiting out and scales to the CPU time of a call", () => {
    const functions = [one("(idle)", "", 900), one("emit", "node:events", 25), one("writev", "", 75)];
    expect(shares({ functions, micros: 1_000 }, 40, (f) => ({ name: groupOf(f) }))).toEqual([
      { name: "socket writes, in the kernel", percent: 75, microsPerCall: 30 },
      { name: "node: events", percent: 25, microsPerCall: 10 },
    ]);
  });
});

describe("placeOf()", () => {
  it("does not name the folders of the machine", () => {
    expect(placeOf(one("send", "file:///x/y/dist/src/engine/engine.js"))).toBe("src/engine/engine.js:7");
    expect(placeOf(one("v7", "file:///x/node_modules/uuid/dist/v7.js"))).toBe("uuid/dist/v7.js:7");
  });
});

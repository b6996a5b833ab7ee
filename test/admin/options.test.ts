import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { adminAddressOf } from "../../src/admin/option-checks.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import { createFetchA2A } from "../../src/fetch.js";
import { createA2A, createServer } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { operators, tokens } from "./world.js";

const common = { agent: obedient("checked"), store: memoryStore(), port: 0, grpcPort: 0 };

const schemes = { token: httpBearerScheme({ tokens: [{ owner: "rita", token: tokens.read }] }) };

describe("the option admin", () => {
  it.each<[string, unknown, RegExp]>([
    ["no object", "127.0.0.1:8081", /admin is a text, not an object/],
    ["no address", { tokens: operators }, /admin\.listen is missing/],
    ["an address without a port", { listen: "127.0.0.1", tokens: operators }, /admin\.listen is "127\.0\.0\.1", not/],
    ["a path that is too long", { listen: `unix:/${"a".repeat(103)}` }, /admin\.listen is/],
    ["no credentials over TCP", { listen: "127.0.0.1:0" }, /only a Unix socket may do without/],
    [
      "two kinds of credentials",
      { listen: "127.0.0.1:0", tokens: operators, security: { schemes }, roles: {} },
      /roles/,
    ],
    [
      "both tokens and a scheme",
      { listen: "127.0.0.1:0", tokens: operators, security: { schemes }, roles: { read: "r", write: "w" } },
      /more than one of/,
    ],
    ["a scheme without roles", { listen: "127.0.0.1:0", security: { schemes } }, /need each other/],
    [
      "no scheme",
      { listen: "127.0.0.1:0", security: {}, roles: { read: "r", write: "w" } },
      /admin\.security\.schemes/,
    ],
    ["an empty list of tokens", { listen: "127.0.0.1:0", tokens: [] }, /admin\.tokens is empty/],
    ["a short token", { listen: "127.0.0.1:0", tokens: [{ name: "a", role: "read", token: "s3cret" }] }, /shorter/],
    ["an unknown name", { listen: "127.0.0.1:0", tokens: operators, token: "x" }, /admin\.token/],
    ["a folder that does not exist", { listen: "unix:/x", backupFolder: "/does/not/exist" }, /not a folder/],
  ])("refuses %s", async (_, admin, fault) => {
    const error = await createServer({ ...common, admin: admin as never }).then(
      () => new Error("started"),
      (error: Error) => error,
    );
    expect(error.message).toMatch(fault);
    expect(error.message).not.toMatch(/s3cret|-471[1-4]-/);
  });

  it("has an address only where ports are opened", async () => {
    const { port: _, grpcPort: __, ...embedded } = common;
    const admin = { listen: "127.0.0.1:0", tokens: operators };
    expect(() => createA2A({ ...embedded, admin })).toThrow(/admin\.listen belongs to createServer/);
    expect(() => createA2A({ ...embedded, admin: {} })).toThrow(/only a Unix socket may do without/);
    const forFetch = { ...embedded, admin: { tokens: operators } };
    expect(() => createFetchA2A(forFetch)).toThrow(/admin needs Node\.js/);
  });

  it("refuses a port that is in use, and closes what it has opened", async () => {
    const first = await createServer({ ...common, admin: { listen: "127.0.0.1:0", tokens: operators } });
    const listen = first.adminUrl?.replace("http://", "") ?? "";
    await expect(
      createServer({ ...common, store: memoryStore(), admin: { listen, tokens: operators } }),
    ).rejects.toThrow(/already in use; choose another one with admin\.listen \(--admin\)/);
    await first.close();
  });

  it("takes a folder that exists", async () => {
    const admin = { listen: "127.0.0.1:0", tokens: operators, backupFolder: tmpdir() };
    const server = await createServer({ ...common, store: memoryStore(), admin });
    await server.close();
  });
});

describe("adminAddressOf()", () => {
  it.each([
    ["127.0.0.1:8081", { host: "127.0.0.1", port: 8081 }],
    ["localhost:0", { host: "localhost", port: 0 }],
    ["[::1]:8081", { host: "::1", port: 8081 }],
    ["unix:/run/parley/admin.sock", { socket: "/run/parley/admin.sock" }],
    ["unix:", undefined],
    ["unix:/a\0b", undefined],
    ["127.0.0.1:99999", undefined],
    ["[127.0.0.1]:80", undefined],
    ["http://127.0.0.1:80", undefined],
    ["::1:80", undefined],
    ["-a:80", undefined],
    ["", undefined],
  ])("reads %j", (text, address) => {
    expect(adminAddressOf(text)).toEqual(address);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { olderVersions } from "../../src/version/client-versions.js";
import { v1 } from "../../src/version/v1.js";
import type { ProtocolVersion } from "../../src/version/version.js";
import { servedVersions, Versions } from "../../src/version/versions.js";
import { loadGraph } from "../support/import-graph.js";

const src = fileURLToPath(new URL("../../src", import.meta.url));

const row = (name: string): ProtocolVersion => ({ name, interfaces: ["jsonRpc"], load: async () => ({}) });

describe("Versions", () => {
  it("know a version with and without a patch number, and an empty value as 0.3", () => {
    const native = servedVersions.only([]);
    expect(["1.0", " 1.0 ", "1.0.7", "0.3", "", "1", "x"].map((value) => native.named(value))).toEqual([
      "1.0",
      "1.0",
      "1.0",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(new Versions(v1, [row("0.3")]).named("")).toBe("0.3");
  });

  it("take no name that cannot be asked for, and none twice", () => {
    for (const name of ["1", "1.0.0", "", "v2.0"]) expect(() => new Versions(v1, [row(name)])).toThrow("Major.Minor");
    expect(() => new Versions(v1, [row("1.0")])).toThrow("registered twice");
  });
});

describe("the version that the service speaks", () => {
  it("is written in one place of src/", () => {
    const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    const naming = files.filter((file) => /["'`]1\.0["'`]/.test(readFileSync(join(src, file), "utf8")));
    expect(naming).toEqual([join("version", "protocol-version.ts")]);
  });
});

describe("versions beside that of the service", () => {
  it("are called by clients as servers serve them", () => {
    const cardNames: Readonly<Record<string, string>> = { jsonRpc: "JSONRPC", rest: "HTTP+JSON", grpc: "GRPC" };
    const served = servedVersions.others.map(({ name, interfaces, extensionsParameter }) => ({
      name,
      bindings: interfaces.map((each) => cardNames[each]),
      ...(extensionsParameter !== undefined && { extensions: extensionsParameter }),
    }));
    expect(olderVersions.map(({ load: _, alike: _alike, hasCallersIds: _ids, ...row }) => row)).toEqual(served);
  });

  const words = [
    String.raw`0\.[1-9](?:\.\d+)?`,
    "message/(?:send|stream)",
    "tasks/(?:send|sendSubscribe|get|cancel|resubscribe|pushNotification.*)",
    "agent/(?:getAuthenticatedExtendedCard|authenticatedExtendedCard)",
    "/v1/.*",
    "x-a2a-extensions",
  ];
  const literal = new RegExp(`["'\x60](?:${words.join("|")})["'\x60]`, "i");
  /**
   * Files of 1.0 that name another version: an empty `A2A-Version` means 0.3 (specification 3.6.2). The release of this
   * package is not a protocol version.
   */
  const allowed = [join("wire", "service-params.ts"), join("core", "release.ts")];

  it("are named in their own folder alone", () => {
    const files = readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith(`version${sep}`) && !allowed.includes(file))
      .filter((file) => literal.test(codeOf(readFileSync(join(src, file), "utf8"))));
    expect(files).toEqual([]);
    expect(literal.test('"message/send"')).toBe(true);
  });

  it("are reached by the registries alone", () => {
    const files = readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith(`version${sep}`))
      .filter((file) => /\/version\/v\d+\.\d+\//.test(codeOf(readFileSync(join(src, file), "utf8"))));
    expect(files).toEqual([]);
  });

  it("are loaded when they are called: with the server come their rows, and nothing else", () => {
    const { files } = loadGraph(
      "src/index.ts",
      "src/cli/main.ts",
      "src/cli/serve-command.ts",
      "src/fetch.ts",
      "src/fastify.ts",
    );
    const loaded = [...files].map((file) => relative(src, file).replaceAll(sep, "/"));
    const theirs = loaded.filter((file) => /^version\/v0|gen\/a2a\//.test(file));
    // Rows, the tables of names that they are made of, and the names of tasks, by which calls of every version find them.
    const rows = /^version\/v[\d.]+\/(?:index|names)\.ts$|^version\/v0\.1\/task-names\.ts$/;
    expect(theirs.filter((file) => !rows.test(file))).toEqual([]);
    expect(theirs).toContain("version/v0.3/index.ts");
    expect(loaded.filter((file) => /^version\/forms\//.test(file))).toEqual([]);
  });
});

/** A source without its comments. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

import { describe, expect, it } from "vitest";
import { importGraph, isBuiltin } from "../../support/import-graph.js";

// `test/interop/oauth-page.interop.ts` tests the entry point in a browser.
describe("parley-a2a/client/oauth", () => {
  const { files, outside } = importGraph("src/client/oauth/index.ts");

  it("imports nothing of Node.js, and no package that needs it", () => {
    expect([...outside].filter(([name]) => isBuiltin(name))).toEqual([]);
    const packages = [...outside.keys()].map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
    expect([...new Set(packages)].toSorted()).toEqual(["@bufbuild/protobuf", "@connectrpc/connect", "openid-client"]);
  });

  it("imports nothing of a server", () => {
    const folders = [...files].map((file) => /\/src\/([^/]+)\//.exec(file)?.[1] ?? "gen");
    expect([...new Set(folders)].toSorted()).toEqual(["client", "core", "gen", "outgoing", "wire"]);
    const outgoing = [...files].flatMap((file) => /\/src\/outgoing\/(.*)/.exec(file)?.[1] ?? []);
    expect(outgoing).toEqual(["socket-failure.ts"]);
  });

  it("is no part of what a client without it loads", () => {
    const { files: others } = importGraph("src/client/credentials/call-credentials.ts");
    expect([...others].filter((file) => file.includes("/oauth/"))).toEqual([]);
  });
});

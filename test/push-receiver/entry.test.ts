import { describe, expect, it } from "vitest";
import { importGraph, isBuiltin } from "../support/import-graph.js";

describe("parley-a2a/push-receiver", () => {
  const { files, outside } = importGraph("src/push-receiver/index.ts");

  it("imports nothing of Node.js, and no package that needs it", () => {
    expect([...outside].filter(([name]) => isBuiltin(name))).toEqual([]);
    const packages = [...outside.keys()].map((name) =>
      name
        .split("/")
        .slice(0, name.startsWith("@") ? 2 : 1)
        .join("/"),
    );
    expect([...new Set(packages)].toSorted()).toEqual(["@bufbuild/protobuf", "jose"]);
  });

  it("imports nothing of a server", () => {
    const folders = [...files].map((file) => /\/src\/([^/]+)\//.exec(file)?.[1] ?? "gen");
    expect([...new Set(folders)].toSorted()).toEqual(["core", "gen", "jwt", "push-receiver", "wire"]);
  });
});

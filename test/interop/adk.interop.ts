import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home } from "../e2e/support/server-process.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { succeed } from "./support/tool.js";

const here = join(root, "test", "interop", "adk");

let python: string;

beforeAll(async () => {
  python = await pythonWith("python-google-adk-2.13.0", join(here, "requirements.txt"));
});

/** Runs the remote agent of Google's ADK against a server. Returns its results by step. */
async function seenAt(url: string): Promise<Readonly<Record<string, JsonValue>>> {
  const env = { ...process.env, ...pythonEnvironment };
  return JSON.parse(await succeed(python, [join(here, "client.py"), url], { env }));
}

const said = (...texts: string[]): object => ({ texts, error: null });

describe.each(["omit", "url"])("the remote agent of Google's ADK, with --card-grpc %s", (how) => {
  const home = new Home("--card-grpc", how);
  afterAll(() => home.leave());

  it("talks to the served one", async () => {
    const seen = await seenAt((await home.start()).url);
    const stream = said("1 ..", "2 ..", "3 ..");
    expect(seen.default).toEqual([said("hello"), said("hi"), stream, said("No luck.")]);
    expect(seen.rest).toEqual([said("hello"), said("hi")]);
  });
});

describe("the remote agent of Google's ADK, where the card names gRPC by its address", () => {
  const home = new Home();
  afterAll(() => home.leave());

  it("refuses the card: the day that it takes it, the option is not needed for it any more", async () => {
    const seen = await seenAt((await home.start()).url);
    expect(seen.default).toMatchObject([
      { texts: [], error: expect.stringContaining("Agent card RPC URL") },
      {},
      {},
      {},
    ]);
  });
});

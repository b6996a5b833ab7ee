import { describe, expect, it } from "vitest";
import { flows } from "../../../src/cli/a2a/auth/store.js";
import { commandRows } from "../../../src/cli/a2a/commands.js";
import { settingRows } from "../../../src/cli/a2a/settings.js";
import { openWorld, runIn } from "./world.js";

const shells = ["bash", "zsh", "fish"] as const;
const scriptFor = async (shell: string) => (await runIn(["completion", shell])).out;

// `test/interop/completion.interop.ts` tests the completion in real shells.
describe("A2ACLI_CLI_002 completion", () => {
  it.each(shells)("has every command and option of the help, for %s", async (shell) => {
    const script = await scriptFor(shell);
    for (const { words, options = [] } of commandRows) {
      expect(script).toContain(words);
      for (const { flags } of options) expect(script).toContain(flags.match(/--[a-z-]+/)?.[0]);
    }
    for (const [, { flag }] of settingRows) expect(script).toContain(flag);
    for (const ofServer of ["--log-level", "--push-allow-http", "tasks show", "card verify"]) {
      expect(script).toContain(ofServer);
    }
  });

  it.each(shells)("is the script alone for %s, whatever the form of the output", async (shell) => {
    const { exit, out, err } = await runIn(["completion", shell, "-o", "json"]);
    expect(exit).toBe(0);
    expect(err).toBe("");
    expect(out).toBe(await scriptFor(shell));
  });

  it("names the shells that it knows for another one", async () => {
    const { exit, out, err } = await runIn(["completion", "tcsh"]);
    expect(exit).toBe(2);
    expect(out).toBe("");
    expect(err).toMatch(/'tcsh' is invalid for argument 'shell'\. Allowed choices are bash, zsh, fish/);
  });

  it("offers values that settings accept", () => {
    const offering = settingRows.filter(([, { values }]) => values !== undefined);
    expect(offering.map(([name]) => name)).toEqual(["transport", "a2aVersion", "output"]);
    for (const [, { values = [], read }] of offering)
      for (const value of values) expect(() => read([value])).not.toThrow();
  });

  it("offers the flows and states that options accept", async () => {
    const valuesOf = (command: string, flag: string) =>
      commandRows.find(({ words }) => words === command)?.options?.find(({ flags }) => flags.startsWith(flag))
        ?.values ?? [];
    expect(valuesOf("auth login", "--flow")).toEqual(flows);
    const states = valuesOf("task list", "--status");
    expect(states).toHaveLength(8);
    const world = await openWorld();
    try {
      for (const state of states) {
        const { exit, err } = await world.run(["task", "list", "-a", "AGENT", "--status", state]);
        expect(exit, err).toBe(0);
      }
    } finally {
      await world.close();
    }
  });
});

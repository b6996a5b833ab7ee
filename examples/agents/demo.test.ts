import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { build, root } from "../../test/e2e/support/build.js";
import { buildConsole } from "../../test/interop/console/build.js";

it("npm run demo serves every agent, the host and the guide, which know the others, until Ctrl-C", async () => {
  build();
  buildConsole();
  const folder = mkdtempSync(join(tmpdir(), "parley-demo-"));
  const program = fileURLToPath(new URL("demo.ts", import.meta.url));
  const child = spawn(process.execPath, ["--preserve-symlinks", "--import", "tsx", program], {
    cwd: root,
    env: { ...process.env, DEMO_FOLDER: folder },
  });
  const ended = once(child, "exit");
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  try {
    await expect.poll(() => stdout + stderr, { timeout: 90_000 }).toContain("Ctrl-C");
    const urls = stdout.match(/^http:\S+/gm) ?? [];
    const clients = await Promise.all(urls.map((url) => connect(url)));
    const names = clients.map(({ card }) => card.name);
    expect(stdout.match(/(?<=^http:\S+ {2}).+$/gm)).toEqual(names);
    expect(names).toEqual(expect.arrayContaining(["Currency Agent", "Movie Agent", "Coder Agent"]));
    const answer = await clients.at(-1)?.send("How much is 100 USD in GBP and create an HTTP server in TypeScript");
    expect(answer?.task?.artifacts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["conversion", "src/server.ts"]),
    );
    const guide = clients[names.indexOf("Guide")];
    const said = (await guide?.send("start"))?.text ?? "";
    // Its links are to the console, which the host serves, and to an agent that runs.
    const link = new URL(/\]\((\S+)\)/.exec(said)?.[1] ?? "");
    expect(urls).toContain(link.searchParams.get("agent"));
    expect(await (await fetch(link)).text()).toContain("<title>Parley console</title>");
    expect(stdout).toMatch(/^ {2}http:\/\/\S+\/console\/talk\?agent=\S+&text=start#token=\S+$/m);
    await Promise.all(clients.map((client) => client.close()));
  } finally {
    child.kill("SIGINT");
  }
  expect(await ended, stderr).toEqual([0, null]);
  rmSync(folder, { recursive: true, force: true });
});

import { afterAll, describe, expect, it } from "vitest";
import type { ClientCore } from "../../src/client/calls/core.js";
import { follow, send, stream } from "../../src/client/follow/send.js";
import type { Update } from "../../src/task/answer.js";
import { textOf } from "../../src/task/plain.js";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { scaled } from "../support/soak.js";
import { clientBindings, coreOver } from "./cores.js";

/** The agent counts to `TO` and waits `PAUSE_MS` milliseconds between numbers. */
const TO = 120;
const PAUSE_MS = 10;

/** Number of times that the server is killed during each stream. */
const KILLS = scaled(2, 3);

const sent = (core: ClientCore): AsyncIterable<Update> => stream(core, `count ${TO} ${PAUSE_MS}`);

/**
 * Follows a task after its question was answered. The agent yields no further status, but the task has to stop showing
 * the question.
 */
async function followed(core: ClientCore): Promise<AsyncIterable<Update>> {
  const taskId = (await send(core, "ask Which?")).task?.id ?? "";
  await send(core, `count ${TO} ${PAUSE_MS} only`, { returnImmediately: true }, { taskId });
  return follow(core, taskId);
}

/** Number of words of an agent that begins anew. */
const WORDS = 60;

const expected = Array.from({ length: TO }, (_, index) => `${index + 1} `).join("");

describe("a stream whose server is killed and started anew", () => {
  const home = new Home();
  home.agent = `${root}/test/fixtures/agents/counting.mjs`;

  let running: ServerProcess | undefined;

  /** Returns the running server, or starts the first one. */
  const started = async (): Promise<ServerProcess> => {
    running ??= await home.start();
    return running;
  };

  /** Kills the server and starts another one in its place. */
  const restarted = async (): Promise<ServerProcess> => {
    const killed = running;
    running = undefined;
    await killed?.kill();
    return started();
  };

  afterAll(() => home.leave());

  it.each(["same", "other"])(
    "has the whole text once of an agent that begins anew with the %s text",
    { timeout: 60_000 },
    async (what) => {
      const words = Array.from({ length: WORDS }, (_, index) => index + 1);
      const told = (letter: string): string => `# Cats${words.map((word) => ` ${letter}${word}`).join("")}`;
      let server = await started();
      const proxy = await CuttingProxy.open(Number(new URL(server.url).port));
      const core = coreOver("JSONRPC", proxy.url);
      const again = async (): Promise<void> => {
        server = await restarted();
        proxy.targetPort = Number(new URL(server.url).port);
      };
      let restart: Promise<void> | undefined;
      let [before, text] = ["", ""];
      try {
        for await (const update of stream(core, `tell ${what} ${WORDS} ${PAUSE_MS}`)) {
          if (update.replaced) [before, text] = [text, ""];
          text += update.text;
          if (text.length > told("w").length / 2) restart ??= again();
        }
        expect(restart).toBeDefined();
        expect(text).toBe(told(what === "same" ? "w" : "v"));
        if (what === "same") expect(before).toBe("");
        else expect(told("w").startsWith(before) && before !== "").toBe(true);
      } finally {
        await restart;
        await Promise.all([core.close(), proxy.close()]);
      }
    },
  );

  const rows = clientBindings.flatMap((binding) => [
    [binding, "of a send", sent] as const,
    [binding, "that follows the answer to a question", followed] as const,
  ]);

  it.each(rows)(
    "goes on where it was, each event once, over %s, %s",
    { timeout: 180_000 },
    async (binding, _, begin) => {
      const isGrpc = binding === "GRPC";
      let server = await started();
      const portOf = (): number => (isGrpc ? server.grpcPort : Number(new URL(server.url).port));
      const proxy = await CuttingProxy.open(portOf());
      const core = coreOver(binding, isGrpc ? `127.0.0.1:${proxy.port}` : proxy.url);
      let restart = Promise.resolve();
      const again = async (): Promise<void> => {
        server = await restarted();
        proxy.targetPort = portOf();
      };
      let [text, kills, last] = ["", 0, 0];
      try {
        for await (const update of await begin(core)) {
          // A follower's first update has all text so far.
          if (update.kind === "task") {
            const [begun] = update.task?.artifacts ?? [];
            text = begun === undefined ? "" : textOf(begun);
            last = begun?.parts.length ?? 0;
          }
          if (update.kind !== "artifact") continue;
          text += update.text;
          const parts = update.artifact?.parts.length ?? 0;
          expect(parts).toBe(last + 1);
          last = parts;
          if (kills === KILLS || parts < ((kills + 1) * TO) / (KILLS + 2)) continue;
          kills++;
          await restart;
          restart = again();
        }
        expect(kills).toBe(KILLS);
        expect(text).toBe(expected);
      } finally {
        await restart;
        await Promise.all([core.close(), proxy.close()]);
      }
    },
  );
});

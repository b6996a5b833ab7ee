/** Costs of a subscriber that waits for an event. */
import { rpcSubscribe } from "../calls.js";
import { judge } from "../goals.js";
import { begin } from "../harness/delivery.js";
import { MB, type Scenario } from "../harness/scenario.js";
import { WORKING_TEXT } from "../servers/answers.js";

export const idle: Scenario = {
  name: "idle",
  async run(bench) {
    const readers = bench.options.quick ? 1_000 : 10_000;
    const server = await bench.start("parley", "task", bench.database());
    const id = await begin(server, "wait");
    const before = await server.usage(true);
    await bench.load.run({ kind: "subscribe", call: rpcSubscribe(server, id, WORKING_TEXT), readers, stalled: 0 });
    const after = await server.usage(true);
    await bench.load.run({ kind: "leave" });
    await server.go();
    const each = (after.rss - before.rss) / 1024 / readers;
    return {
      title: "Idle subscribers over SSE",
      rows: [
        { name: "none", figures: { "MB RSS": before.rss / MB, "MB heap": before.heap / MB } },
        {
          name: readers.toLocaleString("en"),
          figures: { "MB RSS": after.rss / MB, "MB heap": after.heap / MB, "KB RSS each": each },
          targets: [judge("idleMemory", after.rss / MB)],
        },
      ],
    };
  },
};

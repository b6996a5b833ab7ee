/** Message replies whose request and answer carry a text of 1 KB to 1 MB: what a byte costs, beside node:http. */
import { restSend, rpcSend } from "../calls.js";
import { isReply } from "../checks.js";
import type { TestServer } from "../harness/child.js";
import { type Lane, Rates } from "../harness/rates.js";
import type { Row, Scenario } from "../harness/scenario.js";
import { echoText } from "../servers/answers.js";
import { CODEC } from "./replies.js";

const SIZES = [1_024, 10_240, 102_400, 1_048_576];
const QUICK_SIZES = [1_024, 102_400];

/** Fewer than elsewhere: fifty of the largest would measure the machine's memory. */
const CALLERS = 10;

const END = " That was the text.";

const sizeName = (bytes: number): string => (bytes < 1_048_576 ? `${bytes / 1_024} KB` : `${bytes / 1_048_576} MB`);

export const payload: Scenario = {
  name: "payload",
  async run(bench) {
    const bare = await bench.start("bare-http", "codec");
    const parley = await bench.start("parley", "message");
    const rows: Row[] = [];
    for (const size of bench.options.quick ? QUICK_SIZES : SIZES) {
      const text = echoText(size, END);
      const lane = (series: string, server: TestServer, send: typeof restSend): Lane & { series: string } => ({
        name: `${sizeName(size)}, ${series}`,
        series,
        server,
        call: send(server, text, END),
        check: isReply(text),
        callers: CALLERS,
      });
      const lanes = [
        lane(CODEC, bare, restSend),
        lane("Parley, JSON-RPC", parley, rpcSend),
        lane("Parley, REST", parley, restSend),
      ];
      const rates = await Rates.measure(bench, lanes);
      for (const { name, series } of lanes) {
        const row = rates.row(name, `${sizeName(size)}, ${CODEC}`, { column: CODEC });
        const perKb = rates.cpuMicros(name) / (size / 1_024);
        rows.push({ ...row, series, at: size, figures: { ...row.figures, "server us CPU/KB": perKb } });
      }
    }
    return { title: `Message replies that echo a text, ${CALLERS} callers`, rows };
  },
};

import { escaped } from "../../bench/report/svg.js";
import type { Received, Recording } from "./record.js";

const WIDTH = 860;
const ROW = 21;
const TOP = 62;
const CLIENT_X = 312;
/** Seconds before the first event, and after the last one until the picture starts again. */
const LEAD = 0.6;
const HOLD = 4;

const STYLE = `
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; }
  .pane { fill: #0d1117; stroke: #3d444d; }
  .name, .time { fill: #9198a1; }
  .name, .sum { font-family: system-ui, sans-serif; }
  .bad { fill: #ff7b72; } .good { fill: #56d364; } .id { fill: #79c0ff; }
  @media (prefers-reduced-motion: no-preference) { text { animation: SECONDSs step-end infinite; } }
`;

/** A line of text that appears at a time, in seconds. */
interface Line {
  readonly x: number;
  readonly row: number;
  readonly text: string;
  readonly kind: string;
  readonly at: number;
}

/** The lines of two terminals, a server and a client, with the times at which they appeared. */
function linesOf({ before, killedAt, readyAt, after }: Recording): readonly Line[] {
  const serve = "$ npx parley serve ./agent.ts";
  const ready = "Sentence 1.0.0 is ready.";
  const resume = `$ curl -N -H 'Last-Event-ID: ${before.at(-1)?.id}' localhost:8080/tasks/…:subscribe`;
  const cut = before.length + 1;
  const end = cut + 1 + after.length;
  const at =
    (x: number) =>
    (row: number, text: string, kind: string, at: number): Line => ({ x, row, text, kind, at });
  const [server, client, shown, time] = [at(18), at(CLIENT_X + 18), at(CLIENT_X + 90), at(WIDTH - 72)];
  const events = (first: number, all: readonly Received[]): Line[] =>
    all.flatMap((event, index) => [
      client(first + index, `id: ${event.id}`, "id", event.at),
      shown(first + index, event.shown, "event", event.at),
      time(first + index, `${event.at.toFixed(2)} s`, "time", event.at),
    ]);
  return [
    server(0, serve, "typed", -LEAD),
    server(1, ready, "good", -LEAD),
    client(0, "$ curl -N localhost:8080/message:stream -d '{ … }'", "typed", 0),
    ...events(1, before),
    server(cut, "$ kill -9 $(pgrep -f parley)", "bad", killedAt),
    client(cut, "connection lost", "bad", killedAt),
    server(cut + 1, serve, "typed", killedAt + 0.1),
    server(cut + 2, ready, "good", readyAt),
    client(cut + 1, resume, "typed", readyAt),
    ...events(cut + 2, after),
    server(end, "Nothing lost, nothing twice.", "sum good", (after.at(-1)?.at ?? readyAt) + 0.3),
  ];
}

/** Draws a recording as two terminals in which the lines appear as they did. */
export function draw(recording: Recording): string {
  const lines = linesOf(recording);
  const seconds = LEAD + Math.max(...lines.map(({ at }) => at)) + HOLD;
  const height = TOP + Math.max(...lines.map(({ row }) => row)) * ROW + 21;
  const keyframes = lines.map(({ at }, index) => appearance(index, (at + LEAD) / seconds)).join("\n  ");
  const pane = (x: number, width: number): string =>
    `<rect class="pane" x="${x}" y="0.5" width="${width}" height="${height - 1}" rx="8"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc">`,
    '<title id="title">A stream that continues after kill -9</title>',
    '<desc id="desc">A client streams an answer. The server is killed and started again. The client resumes the stream and receives every remaining event once.</desc>',
    `<style>${STYLE.replace("SECONDS", seconds.toFixed(2))}${keyframes}</style>`,
    pane(0.5, CLIENT_X - 12),
    pane(CLIENT_X + 0.5, WIDTH - CLIENT_X - 1),
    '<text class="name" x="18" y="28">server</text>',
    `<text class="name" x="${CLIENT_X + 18}" y="28">client</text>`,
    ...lines.map(
      ({ x, row, text, kind }, index) =>
        `<text class="${kind}" x="${x}" y="${TOP + row * ROW}" style="animation-name: l${index}">${escaped(text)}</text>`,
    ),
    "</svg>",
    "",
  ].join("\n");
}

/** The animation of a line that appears at a part of the whole. Renderers without animations show every line. */
const appearance = (index: number, part: number): string =>
  `@keyframes l${index} { 0% { opacity: ${part > 0 ? 0 : 1} } ${(100 * part).toFixed(2)}% { opacity: 1 } 100% { opacity: 1 } }`;

/** The events that a picture shows, in their order. */
export const eventsIn = (svg: string): readonly string[] =>
  [...svg.matchAll(/<text class="id"[^>]*>id: (\d+)<\/text>[\s\S]*?<text class="event"[^>]*>(.*?)<\/text>/g)].map(
    ([, id, shown]) => `${id} ${shown}`,
  );

/** The same of a recording. */
export const eventsOf = ({ before, after }: Recording): readonly string[] =>
  [...before, ...after].map(({ id, shown }) => `${id} ${escaped(shown)}`);

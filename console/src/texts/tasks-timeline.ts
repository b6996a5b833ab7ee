import { words } from "./words.js";

const { count } = words;

/** Texts of the timeline of a task. */
export const timelineWords = {
  label: "Timeline",
  hint: "Plus and minus zoom, the arrow keys move, 0 shows all.",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  earlier: "Earlier",
  later: "Later",
  all: "Show all",
  asTable: "As a table",
  asChart: "As bars",
  turn: (nth: number, text: string): string => `Turn ${nth}${text === "" ? "" : `: ${text}`}`,
  attempt: (nth: number, writer: string): string =>
    nth > 1 ? `Attempt ${nth}, after a crash, by ${writer}` : `Attempt 1 by ${writer}`,
  step: (name: string, nth: number, attempts: number): string =>
    `${name}${nth > 1 ? ` (${nth})` : ""}${attempts > 1 ? `, ${count(attempts, "attempt", "attempts")}` : ""}`,
  line: (name: string, nth: number): string => `${name} ${nth}`,
  bar: (label: string, duration: string): string => `${label}, ${duration}`,
  open: (label: string): string => `${label}, goes on`,
  goesOn: "goes on",
  status: "Status",
  lanes: {
    turns: "Turns",
    attempts: "Executions",
    model: "Model calls",
    steps: "Steps and tools",
    waits: "Waits for a person",
    delegations: "Delegations",
    artifacts: "Artifacts",
  },
  columns: { lane: "Kind", label: "What", from: "Began", duration: "Duration", position: "Entry" },
  hidden: (bars: number): string => `${count(bars, "bar is", "bars are")} not drawn. Zoom in, or see the table.`,
  cut: (read: number, total: number): string => `From the first ${count(read, "entry", "entries")} of ${total}.`,
  readOn: "Read more",
  reading: (read: number, total: number): string => `Reading the log: ${read} of ${total}`,
  empty: "The log cannot be drawn",
  emptyHint: "None of its entries can be read.",
} as const;

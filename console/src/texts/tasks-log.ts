import { words } from "./words.js";

const { count } = words;
const number = new Intl.NumberFormat("en");

/** Texts of the log of a task. */
export const logWords = {
  label: "Entries of the log",
  columns: {
    position: "Position",
    generation: "Gener.",
    time: "Time",
    kind: "Kind",
    content: "Content",
    attempt: "Attempt",
    writer: "Writer",
    size: "Size",
  },
  kinds: {
    created: "Created",
    message: "Message",
    status: "Status",
    artifact: "Artifact",
    step: "Step",
    note: "Note",
    damaged: "Damaged",
  },
  damagedEntry: "The stored bytes of this entry do not decode.",
  pair: (name: string, text: string): string => (text === "" ? name : `${name}: ${text}`),
  more: (name: string): string => `${name} +`,
  step: (name: string, nth: number): string => (nth > 1 ? `${name} (${nth})` : name),
  stepFailed: (reason: string): string => `failed: ${reason}`,
  agent: "Agent",
  user: "Client",
  file: (name: string, size: number): string => `[${name}, ${count(size, "byte", "bytes")}]`,
  link: (name: string): string => `[${name}]`,
  data: "[data]",
  entry: (position: number): string => `Entry ${number.format(position)}`,
  noEntry: "The log has no entry at this position.",
  before: "Entry before",
  after: "Entry after",
  noAttempt: "None, a message has no execution",
  noWriter: "Unknown, written by an older version",
  raw: "Stored bytes",
  moreBytes: (left: number): string => `Show more (${count(left, "byte", "bytes")} left)`,
  jump: "Position",
  jumpTime: "Time",
  go: "Go",
  follow: "Stay at the end",
  entries: (total: number): string => count(total, "entry", "entries"),
} as const;

import type { CommandRow, OwnOption } from "./row.js";

const benchHelp = `
The first call is made and checked as send makes it; the others repeat its request, each with a new message id. Answers are checked:
errors, failed tasks and streams that were cut are counted by kind, and in no rate. With --task-id, get reads that task.
`;

const conformanceHelp = `
Each interface of the card is called: messages are sent, and the tasks that they begin are canceled. The exit code is 1 if the
agent breaks a requirement. This is not the Technology Compatibility Kit (TCK): it checks only what a client can see.
`;

const doctorHelp = `
The card, its signatures, caching and certificates are examined, then each interface in its own version. Messages are sent, and the
tasks that they begin are canceled if they do not finish. The exit code is 1 if there is a fault; advice does not change it.
`;

const pingHelp = `
A call reads a task that does not exist: the error that there is none is the answer, and nothing changes at the agent. The exit
code is 3 if no interface answers, and 1 if some do not.
`;

const message: OwnOption = {
  flags: "--message <text>",
  help: "text of the messages that are sent (default: hello)",
};

/** Commands that measure and examine agents. */
export const examineRows: readonly CommandRow[] = [
  {
    words: "bench",
    examples: ['bench "echo hello" -a localhost:8080 --callers 4 --requests 100'],
    operands: "[text]",
    about: "load an agent, and show rates and latencies",
    options: [
      {
        flags: "--operation <name>",
        values: ["send", "stream", "get"],
        help: "send (a message and its answer), stream or get (a task); send by default",
      },
      { flags: "--callers <n>", help: "calls at once, 1 to 1000; 10 by default" },
      { flags: "--duration <duration>", help: "time of the measurement, at most 1h; 10s by default" },
      { flags: "--requests <n>", help: "end after this many calls" },
      { flags: "--warmup <duration>", help: "time of calls before the measurement; 2s by default" },
      { flags: "--rate <n>", help: "begin this many calls a second, whether or not earlier ones were answered" },
      { flags: "--compare <file>", help: "compare with a report of bench -o json" },
      { flags: "--yes", help: "load an agent on another machine" },
    ],
    after: benchHelp,
    load: () => import("../bench/bench.js"),
  },
  {
    words: "conformance",
    examples: ["conformance localhost:8080"],
    operands: "[ref]",
    about: "check an agent against the requirements of the protocol",
    options: [message],
    after: conformanceHelp,
    load: () => import("../examine/conformance.js"),
  },
  {
    words: "doctor",
    examples: ["doctor localhost:8080", 'doctor localhost:8080 --message "echo hello" --verbose'],
    operands: "[ref]",
    about: "examine an agent, and report faults with their remedies",
    options: [message],
    after: doctorHelp,
    load: () => import("../examine/doctor.js"),
  },
  {
    words: "ping",
    examples: ["ping localhost:8080 --count 10 --interval 50ms"],
    operands: "[ref]",
    about: "call every interface of an agent, and show latencies",
    options: [
      { flags: "--count <n>", help: "calls of each interface, 1 to 1000; 4 by default" },
      { flags: "--interval <duration>", help: "time between calls; 200ms by default" },
    ],
    after: pingHelp,
    load: () => import("../examine/ping.js"),
  },
];

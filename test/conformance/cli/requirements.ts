/** Levels of the specification of the A2A CLI. Claiming a tier makes its SHOULD binding. */
export type CliLevel = "MUST" | "MUST NOT" | "SHOULD" | "MAY";

/** A requirement of the A2A CLI specification, in our words. */
export interface CliRequirement {
  /** The id without the prefix `A2ACLI_`. */
  readonly id: string;
  readonly tier: 1 | 2 | 3;
  readonly level: CliLevel;
  readonly summary: string;
}

const rows: readonly (readonly [tier: 1 | 2 | 3, id: string, level: CliLevel, summary: string])[] = [
  [1, "CARD_GET_001", "MUST", "reads the card of a host, a URL or a file, and selects the transport by it"],
  [1, "SEND_001", "MUST", "sends a message that starts an interaction"],
  [1, "SEND_002", "MUST", "waits by default; `--async` prints the ids at once"],
  [1, "SEND_003", "MUST", "`--stream` follows events, and never hangs if the agent does not stream"],
  [1, "SEND_004", "MUST", "shows artifacts and every kind of part"],
  [1, "SEND_005", "MUST", "`--media-type` describes the part before it, and is inferred only if it is absent"],
  [1, "SEND_006", "MUST", "parts may be repeated, keep their order, and may come from stdin"],
  [1, "TASK_GET_001", "MUST", "shows state, artifacts and history without leaving anything out"],
  [1, "TASK_CANCEL_001", "MUST", "cancels a task, more than once, and shows its state"],
  [1, "INTERACT_001", "MUST", "continues a context by its id"],
  [1, "INTERACT_002", "MUST", "continues a task by its id; a rejected id starts no other task"],
  [1, "INTERACT_003", "MUST NOT", "invents ids of the server"],
  [1, "INTERACT_004", "MUST", "prints ids, state and the command that resumes"],
  [1, "INTERACT_005", "MUST NOT", "stores ids of tasks"],
  [1, "TASK_POLL_001", "MUST", "reads a task once, or waits for it"],
  [1, "TASK_POLL_002", "MUST", "respects interval, timeout and interruption"],
  [1, "TASK_POLL_003", "MUST", "stops at a task that needs an answer"],
  [1, "TASK_POLL_004", "MUST", "polls when a stream breaks, until the task ends"],
  [1, "OUT_001", "MUST", "writes results to stdout and the rest to stderr"],
  [1, "OUT_002", "MUST", "`-o json` prints one document"],
  [1, "OUT_003", "MUST", "`-o json --stream` prints an object in each line, the final state last"],
  [1, "OUT_004", "MUST", "reports errors for programs, alike over all transports"],
  [1, "OUT_005", "MUST", "text output has a fixed grammar, on a terminal and in a pipe"],
  [1, "OUT_006", "MUST", "`--async` prints the ids of the task and its context"],
  [1, "EXIT_001", "MUST", "exits with the documented code"],
  [1, "EXIT_002", "MUST", "the outcome of the task does not change the exit code"],
  [1, "AUTH_001", "MUST", "attaches credentials where the scheme says"],
  [1, "AUTH_002", "MUST", "has a variable for each credential, and warns of the risk of flags"],
  [1, "AUTH_003", "MUST", "warns of `--insecure`"],
  [1, "AUTH_004", "MUST", "shows no credential in any report"],
  [1, "TX_001", "MUST", "selects the transport from the card"],
  [1, "TX_002", "MUST", "takes the first entry that it supports; preferences come in order"],
  [1, "TX_003", "MUST", "sends the tenant of the interface, and none if there is none"],
  [1, "VER_001", "MUST", "names the version in each request, and never speaks an older one unasked"],
  [1, "DEFAULT_001", "MUST", "has six defaults, each with a flag that overrides it"],
  [1, "CONFIG_001", "MUST", "settings are in a known place, private, and shown by `config show`"],
  [1, "CLI_001", "SHOULD", "`help` and `--version`; the help shows effective defaults"],
  [1, "SKILL_001", "MUST", "ships one generic skill for agents, if any"],
  [1, "SKILL_002", "MUST", "keeps a skill and the specification apart"],
  [2, "CARD_GET_002", "SHOULD", "`card get --validate` checks a card against the schema"],
  [2, "TASK_LIST_001", "SHOULD", "`task list` with pages, filtered by state and context"],
  [2, "TASK_SUBSCRIBE_001", "SHOULD", "`task subscribe` follows a task"],
  [2, "TASK_SUBSCRIBE_002", "SHOULD", "resumes a stream that was cut"],
  [2, "AUTH_005", "SHOULD", "`auth login` by device code"],
  [2, "AUTH_006", "SHOULD", "`auth login` by client credentials"],
  [2, "AUTH_007", "SHOULD", "stores tokens safely, and attaches them"],
  [2, "TX_004", "SHOULD", "two transports or more, selectable"],
  [2, "VER_003", "SHOULD", "checks the card before calls that need a capability"],
  [2, "CONFIG_002", "SHOULD", "flag, variable, local file, global file and default, in this order"],
  [2, "DOWNLOAD_001", "SHOULD", "`task download` saves artifacts"],
  [2, "OUT_007", "SHOULD", "`--debug` shows the messages of the protocol on stderr"],
  [2, "CONFORM_001", "SHOULD", "`conformance` checks an agent"],
  [2, "CLI_002", "SHOULD", "`completion` for shells"],
  [2, "PUSH_001", "SHOULD", "`task push-config` creates, shows, lists and deletes configurations"],
  [3, "CARD_GET_003", "SHOULD", "reads the extended card by an advertised scheme"],
  [3, "CARD_GET_004", "SHOULD", "reports whether the signatures of a card are verified"],
  [3, "CARD_GET_005", "MAY", "accepts entries of catalogues as references"],
  [3, "AUTH_008", "MUST NOT", "sends credentials for a card that asks for none"],
  [3, "AUTH_009", "MAY", "mutual TLS"],
  [3, "AUTH_010", "MAY", "OpenID Connect"],
  [3, "AUTH_011", "SHOULD", "reports a task that needs authorization and how to continue it"],
  [3, "PUSH_002", "MAY", "receives notifications at a local webhook"],
  [3, "CHAT_001", "MUST", "`chat` keeps the context and the task"],
  [3, "TX_005", "MAY", "gRPC"],
  [3, "DEMO_SERVER_001", "MAY", "serves an agent for demonstrations"],
  [3, "VER_002", "MAY", "declares the extensions that an agent requires"],
];

/** All requirements, by tier. */
export const cliRequirements: readonly CliRequirement[] = rows.map(([tier, id, level, summary]) => ({
  tier,
  id,
  level,
  summary,
}));

/** Requirements that do not apply, with the reason. */
export const notApplicable: Readonly<Record<string, string>> = {
  SKILL_001: "the package has no skill for agents",
  SKILL_002: "the package has no skill for agents",
};

/** The text that contains the requirements. */
export const cliSpecification = {
  version: "0.2",
  revision: "0ea8882",
  repository: "https://github.com/a2aproject/a2a-cli",
} as const;

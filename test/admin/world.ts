import type { AdminOptions } from "../../src/admin/options.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { type AuditRecord, createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

/** A server with operators on one port and callers on others. */

/** Tokens of operators, and a key of a caller. */
export const tokens = {
  read: "read-token-4711-0123456789-0123456789",
  write: "write-token-4712-0123456789-0123456789",
  wrong: "wrong-token-4713-0123456789-0123456789",
  /** The key of a caller of the A2A protocol, in the form of a token. */
  caller: "alices-key-4714-0123456789-0123456789",
  /** The key of another caller. */
  other: "bobs-key-4715-0123456789-0123456789",
} as const;

/** Headers with a token. */
export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

export const operators: NonNullable<AdminOptions["tokens"]> = [
  { name: "rita", role: "read", token: tokens.read },
  { name: "wendy", role: "write", token: tokens.write },
];

export interface World {
  readonly server: Server;
  /** `host:port` of the operator's service. */
  readonly address: string;
  readonly records: AuditRecord[];
}

export async function openWorld(
  admin: Partial<AdminOptions> = {},
  options: Partial<ServerOptions> = {},
): Promise<World> {
  const records: AuditRecord[] = [];
  const keys = [
    { owner: "alice", key: tokens.caller },
    { owner: "bob", key: tokens.other },
  ];
  const server = await createServer({
    agent: {
      ...obedient("operated"),
      security: { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys }) } },
    },
    store: memoryStore(),
    audit: { write: (record: AuditRecord) => void records.push(record) },
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 },
    admin: { listen: "127.0.0.1:0", tokens: operators, ...admin },
    ...options,
  } as ServerOptions);
  return { server, address: server.adminUrl?.replace("http://", "") ?? "", records };
}

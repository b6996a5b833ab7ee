/** The longest that a timer of Node can wait, in milliseconds: some 24 days. What is longer is as good as none. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` in milliseconds (PROTOCOL-HTTP2, "Timeout"); undefined where it is malformed. */
export function grpcTimeoutMs(value: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 1);
}

/** `connect-timeout-ms` (the Connect protocol, "Timeout"); undefined where it is malformed. */
export function connectTimeoutMs(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}

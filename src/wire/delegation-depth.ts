/** Header, or metadata of gRPC: how many agents have handed the work on before it came here. */
export const DELEGATION_DEPTH = "parley-delegation-depth";

/** The most that it says: what claims more is as deep. */
const MOST = 1_000;

/** How deep a call is; 0 where it does not say. What is no number is the deepest: it comes from nobody who counts. */
export function delegationDepthOf(header: string | undefined): number {
  if (header === undefined) return 0;
  return /^\d{1,3}$/.test(header.trim()) ? Number(header) : MOST;
}

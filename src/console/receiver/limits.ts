/** Limits of the receivers of a console. */
export interface ReceiverLimits {
  /** Receivers at once, one for each session. The one whose page asked least recently is closed first. */
  readonly receivers: number;
  /** Notifications that a receiver keeps. The oldest are dropped first. */
  readonly notifications: number;
  /** Size of the bodies, headers and facts that a receiver keeps, in bytes. */
  readonly bytes: number;
  /** Size of a body, in bytes. */
  readonly bodyBytes: number;
  /** Notifications that a receiver takes in a minute. */
  readonly perMinute: number;
  /** Servers and keys that a receiver knows. */
  readonly proofs: number;
  /** Length of the URL of a server, in characters. */
  readonly proofLength: number;
  /** Events that are remembered to recognize repeats. */
  readonly remembered: number;
}

const MIB = 1_048_576;

export const receiverLimits: ReceiverLimits = {
  receivers: 16,
  notifications: 200,
  bytes: 4 * MIB,
  bodyBytes: MIB,
  perMinute: 600,
  proofs: 32,
  proofLength: 2_048,
  remembered: 1_000,
};

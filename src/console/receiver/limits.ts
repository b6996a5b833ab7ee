/** Limits of the receivers of a console. */
export const receiverLimits = {
  /** Receivers at once, one for each session. The one whose page asked least recently is closed first. */
  receivers: 16,
  /** Notifications that a receiver keeps. The oldest are dropped first. */
  notifications: 200,
  /** Size of the bodies, headers and facts that a receiver keeps, in bytes. */
  bytes: 4_194_304,
  /** Size of a body, in bytes. */
  bodyBytes: 1_048_576,
  /** Notifications that a receiver takes in a minute. */
  perMinute: 600,
  /** Servers and keys that a receiver knows. */
  proofs: 32,
  /** Length of the URL of a server, in characters. */
  proofLength: 2_048,
  /** Events that are remembered to recognize repeats. */
  remembered: 1_000,
} as const;

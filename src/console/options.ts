/** Options of the console. */
export interface ConsoleOptions {
  /**
   * True if only this machine reaches the console. It then opens by one-time links, which are logged, and its relay
   * reaches every address. Otherwise it opens by the credentials of operators (`admin`), and its relay reaches public
   * addresses. Default of `createServer`: true on a loopback address without proxies and other hosts, where it cannot be
   * set to true otherwise. Default of `createA2A`: false.
   */
  readonly local?: boolean;
}

/** An agent that the console lists. */
export interface ConsoleAgent {
  readonly name: string;
  /** Absolute, or relative to the origin of the console. */
  readonly url: string;
  /** True if the server of the console serves it. */
  readonly own: boolean;
}

/** The page that the console shows first: an agent, one of its tasks, or a recording to be replayed against it. */
export interface ConsoleStart {
  /** URL of an agent. */
  readonly agent?: string;
  /** Id of one of its tasks. */
  readonly task?: string;
  readonly recording?: { readonly name: string; readonly text: string };
}

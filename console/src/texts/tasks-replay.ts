const number = new Intl.NumberFormat("en");

/** Texts of the replay of a task. */
export const replayWords = {
  label: "Replay",
  play: "Play",
  pause: "Pause",
  previous: "Generation before",
  next: "Next generation",
  speed: "Speed",
  eachEvent: "An event each 200 ms",
  times: (factor: string): string => `${factor}×`,
  generation: "Generation",
  place: (at: number, end: number): string => `Generation ${number.format(at)} of ${number.format(end)}`,
  progress: (at: number, total: number): string =>
    `Reading entry ${number.format(at)} of ${number.format(total)} to get there`,
  damaged: (position: number): string => `Entry ${number.format(position)} does not decode. The replay ends before it.`,
} as const;

/** Returns the sales of the quarters of a year. */
export function sales(year: number): number[] {
  return Array.from({ length: 4 }, (_, quarter) => (year * 7 + quarter * 13) % 100);
}

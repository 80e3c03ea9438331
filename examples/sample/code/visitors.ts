/** Booking of visits: at most eight people in a group, on the first Saturday of the month. */
export interface Visit {
  day: Date;
  guests: number;
  youngestAge: number;
}

const GROUP_MAX = 8;
const LANDING_AGE = 6;

export function isFirstSaturday(day: Date): boolean {
  return day.getDay() === 6 && day.getDate() <= 7;
}

/** Why a visit cannot be booked; an empty list means that it can. */
export function objections(visit: Visit, taken: number): string[] {
  const found: string[] = [];
  const month = visit.day.getMonth() + 1;
  if (!isFirstSaturday(visit.day) || month < 5 || month > 9) found.push("the tower is closed on that day");
  if (taken + visit.guests > GROUP_MAX) found.push("the group would be too large");
  return found;
}

/** Children below six stay under the second landing. */
export function mayClimb(visit: Visit): boolean {
  return visit.youngestAge >= LANDING_AGE;
}

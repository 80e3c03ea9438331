// The character of each light: when it shines and when it is dark, in seconds.
const characters = {
  "Skerrow Head": { period: 15, flashes: [[0, 0.4], [3, 0.4]] },
  "Little Skerrow": { period: 5, flashes: [[0, 0.5]] },
  "Ansel Mole": { period: 1, flashes: [[0, 1]] },
  "Graymouth": { period: 10, flashes: [[0, 2]] },
};

/** Whether a light is shining at a moment, counted in seconds since midnight. */
function isShining(light, seconds) {
  const { period, flashes } = characters[light];
  const phase = seconds % period;
  return flashes.some(([start, length]) => phase >= start && phase < start + length);
}

/** Which lights a sailor may be looking at, given the seconds at which flashes began. */
function identifyLight(starts) {
  return Object.keys(characters).filter((light) =>
    starts.every((start) => isShining(light, start + 0.05)));
}

module.exports = { isShining, identifyLight };

/* Drives the valve of the fog horn: three seconds of sound in every thirty, when there is pressure enough. */
#include <stdbool.h>

#define BLAST_MS 3000
#define PERIOD_MS 30000
#define PRESSURE_BAR_MIN 6.5

struct horn {
    bool running;
    double pressure_bar;
    long started_ms;
};

/* Whether the valve should be open now. */
bool valve_open(const struct horn *horn, long now_ms) {
    if (!horn->running || horn->pressure_bar < PRESSURE_BAR_MIN)
        return false;
    return (now_ms - horn->started_ms) % PERIOD_MS < BLAST_MS;
}

/* How long the compressor needs to build up pressure, in seconds. */
int compressor_seconds(double pressure_bar) {
    double missing = PRESSURE_BAR_MIN - pressure_bar;
    return missing > 0 ? (int)(missing * 37.0) : 0;
}

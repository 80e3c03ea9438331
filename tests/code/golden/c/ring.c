/* A ring buffer. */
#include <stdio.h>
#include "ring.h"

#define RING_SIZE 64
#define NEXT(i) (((i) + 1) % RING_SIZE)

typedef unsigned int index_t;

/* What is in it. */
struct ring {
    index_t head;
    index_t tail;
    char data[RING_SIZE];
};

typedef struct {
    int x, y;
} point_t;

enum mode { MODE_READ, MODE_WRITE = 4 };

union word {
    int number;
    char bytes[4];
};

static int counter = 0;

int ring_put(struct ring *ring, char byte);

/**
 * Puts one byte in.
 * Returns 0 if there is no room.
 */
int ring_put(struct ring *ring, char byte)
{
    if (NEXT(ring->head) == ring->tail) {
        fprintf(stderr, "full\n");
        return 0;
    }
    ring->data[ring->head] = byte;
    ring->head = NEXT(ring->head);
    return 1;
}

static char *ring_text(const struct ring *ring) {
    return (char *)ring->data;
}

#ifdef RING_MAIN
int main(int argc, char **argv)
{
    struct ring ring = {0};
    for (int i = 0; i < argc; i++)
        ring_put(&ring, argv[i][0]);
    puts(ring_text(&ring));
    ring.put(1);
    return 0;
}
#endif
